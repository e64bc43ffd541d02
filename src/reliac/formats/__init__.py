"""File formats that are not our own: bytes -> arrays. What a file says of its size is checked before it is believed."""
