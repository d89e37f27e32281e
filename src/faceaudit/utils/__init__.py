"""What all subjects share: checks of arguments, draws by key, files, tables, numbers as text."""
