from pydantic_ai_agent import agent


class Session:
    history = None

    async def reply(self, message):
        result = await agent.run(message, message_history=self.history)
        self.history = result.all_messages()
        return result
