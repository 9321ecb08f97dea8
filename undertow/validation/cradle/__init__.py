"""cradle: balls on hinges pass on energy and momentum."""
