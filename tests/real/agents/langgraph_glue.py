from langgraph_agent import graph


def build(session_id):
    async def reply(message):
        return await graph.ainvoke({"messages": [("user", message)]}, {"configurable": {"thread_id": session_id}})

    return reply
