"""The paper's experiments: its tables cell by cell, and its other claims as small experiments."""
