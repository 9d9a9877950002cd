"""Gymnasium: a story as an environment, with a memory of what each action did."""

import gymnasium

from zorkgpt import AgentMemory

env = gymnasium.make("zorkgpt.adapters.gymnasium:ZorkGPT/ZMachine-v0", story="slackwater")
with AgentMemory.open("Memories.md") as memory:
    text, info = env.reset(seed=7)
    for action in ("take penny", "dig", "north"):
        place = info["location"]["num"]
        name = info["location"]["name"]
        text, reward, terminated, truncated, info = env.step(action)
        memory.remember(place, text, title=action, place_name=name)
    print(memory.recall(place))
env.close()
