"""Latent codes: hyperplanes of attributes, their dual basis, transects, calibration."""
