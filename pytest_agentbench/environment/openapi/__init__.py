"""A REST service's operations as tools, by its OpenAPI document: 2.0, 3.0 or 3.1."""
