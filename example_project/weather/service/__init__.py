"""A weather service over HTTP, with the habits of real ones: it does not do all that its OpenAPI document declares."""
