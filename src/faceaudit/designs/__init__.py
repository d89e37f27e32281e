"""Designs of an audit: matched images, pairs of pictures, found portraits."""
