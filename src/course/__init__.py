"""What a course on the book needs: a league of audits that are graded against the truth."""
