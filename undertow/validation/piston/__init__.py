"""piston: bodies that close off a region of fluid are held by it."""
