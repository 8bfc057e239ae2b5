"""What every part stands on: errors in words, the console, settings, storage, threads. Knows nothing of the rest."""
