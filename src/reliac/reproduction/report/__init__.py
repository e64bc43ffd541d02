"""The report: its parts, pictures, and the page."""
