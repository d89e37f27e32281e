"""The study of published models on photographic faces: faces, measures, models, and its record."""
