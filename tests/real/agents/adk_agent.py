"""An agent of Google ADK, whose model is reached through LiteLLM."""

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from google.adk.agents import Agent
from google.adk.models.lite_llm import LiteLlm
from orders import get_order

model = LiteLlm("openai/loopback", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", num_retries=0)
root_agent = Agent(name="desk", model=model, instruction="Be brief.", tools=[get_order])
