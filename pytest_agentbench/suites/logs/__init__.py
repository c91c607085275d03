"""Logs of other systems, read one conversation at a time: LangChain dumps, OpenTelemetry spans, message logs."""
