from pydantic_ai_agent import agent


class Session:
    history = None

    async def reply(self, message):
        self.history = (await agent.run(message, message_history=self.history)).all_messages()
        return self.history
