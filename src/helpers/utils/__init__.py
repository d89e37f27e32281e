"""What every room uses: checks of arguments, keyed random draws, devices, processes."""
