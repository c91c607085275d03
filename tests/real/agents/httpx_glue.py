from httpx_agent import run


class Session:
    messages = ()

    def reply(self, message):
        self.messages = run([*self.messages, {"role": "user", "content": message}])
        return self.messages
