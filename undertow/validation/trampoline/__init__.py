"""trampoline: rigid balls tossed by a sheet."""
