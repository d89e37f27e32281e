"""Models under audit: how they are asked, and the answers that are kept."""
