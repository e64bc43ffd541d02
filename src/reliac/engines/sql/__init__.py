"""The engine for edge tables in a database: levels as statements of the SQL that DuckDB and Spark share."""
