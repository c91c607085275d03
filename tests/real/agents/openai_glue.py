from openai_agent import run


class Session:
    messages = ()

    async def reply(self, message):
        self.messages = await run([*self.messages, {"role": "user", "content": message}])
        return self.messages
