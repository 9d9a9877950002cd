"""How long the prompts of the player and of the critic may be."""

from game_interface.models import Observation
from session.game_configuration import GameConfiguration
from zorkgpt.agent import prompt_for as agent_prompt
from zorkgpt.context.prompt import halved, most_tokens
from zorkgpt.critic import PROPOSAL_TOKENS
from zorkgpt.critic import prompt_for as critic_prompt
from zorkgpt.memory.recall.retrieval import estimated_tokens
from zorkgpt.player import AgentDecision, PlayerContext


def allowed(config: GameConfiguration) -> dict[str, int]:
    """Tokens by role: what is always said, and what the budgets allow beside it."""
    nothing = PlayerContext(Observation(None, None, None, None, None, None), "")
    memories = config.max_tokens_per_location
    agent = sum(estimated_tokens(message.content) for message in agent_prompt(nothing))
    critic = sum(estimated_tokens(message.content) for message in critic_prompt(AgentDecision("look"), nothing))
    return {
        "agent": agent + most_tokens(config.context, memories=memories),
        "critic": critic + most_tokens(halved(config.context), memories=memories) + sum(PROPOSAL_TOKENS),
    }
