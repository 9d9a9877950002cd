"""Whether an episode is worth drawing lessons from that go beyond it."""

from zorkgpt.knowledge.synthesis import EpisodeStory

LEAST_SCORE = 50
LEAST_TURNS = 100
LEAST_CRITIC_SCORE = 0.3


def is_worth_it(story: EpisodeStory) -> bool:
    """It ended in death, scored, lasted, or was played well in the critic's eyes."""
    return bool(story.turns) and (
        story.reason == "death"
        or (story.score or 0) >= LEAST_SCORE
        or len(story.turns) >= LEAST_TURNS
        or (story.critic_score or 0.0) >= LEAST_CRITIC_SCORE
    )
