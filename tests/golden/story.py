"""The answers of the scripted agent for fifty turns."""


def says(reason: str, action: str) -> str:
    return f"{reason}\nACTION: {action}"


FIRST = [
    says("A letter tells what is wanted.", "read letter"),
    says("I follow the lane to the house. GOING TO: Front Yard", "north"),
    # The words are not in the dictionary, so another action is proposed.
    says("A magic word may help.", "frotz the wibble"),
    says("Then on along the lane.", "north"),
    says("Round the house to the east.", "east"),
    says("It may be of use.", "take clapper"),
    # The critic rejects, and the agent insists.
    says("From above I could see the house.", "climb tree"),
    says("I still want to see the house from above.", "climb tree"),
    says("The garden lies behind the house.", "northwest"),
    says("A window may be a way in. My plan: examine it, open it, go in.", "examine window"),
    says("The next step of the plan: open it.", "open window"),
    says("The last step of the plan: go in.", "south"),
    says("Light will be needed.", "take lamp"),
    # Without a command, so it is asked again.
    "The hall seems to lie to the south, and I wonder what is there.",
    says("On to the hall.", "south"),
    says("A weapon.", "take sword"),
    says("The five things belong in it.", "open chest"),
    says("The counting room next.", "west"),
    says("Accounts are to be squared.", "read ledger"),
    says("Back to the hall.", "east"),
    says("My hands are full.", "drop sword"),
    says("Upstairs.", "up"),
    says("Nothing to do here without a key.", "down"),
    says("I want it after all.", "take sword"),
    says("Back to the garden. GOING TO: Back Garden", "north"),
    # The critic rejects, and the agent obeys.
    says("I am hungry.", "eat bread"),
    says("On to the garden then.", "north"),
    says("They look good.", "examine berries"),
    says("I am still hungry.", "eat berries"),
]
"""Twenty-five turns, which end with a death."""

SECOND = [
    says("A letter tells what is wanted.", "read letter"),
    says("To the house.", "north"),
    says("On to the house.", "north"),
    says("Round the house to the west.", "west"),
    says("To the garden.", "northeast"),
    says("A look at what killed me.", "examine berries"),
    says("The window is the way in.", "open window"),
    says("It must be examined first.", "examine window"),
    says("Now it should open.", "open window"),
    says("In.", "south"),
    says("Light will be needed.", "take lamp"),
    # Not in sight, so the object tree rejects it.
    says("Something to carry brine in.", "take bottle"),
    says("There is no bottle here.", "south"),
    says("A weapon.", "take sword"),
    says("The trap door is in the counting room. GOING TO: Counting Room", "west"),
    says("Light, before I go down.", "turn on lamp"),
    says("Down is where nobody was.", "open trap door"),
    says("Down.", "down"),
    says("On.", "north"),
    says("Daylight lies to the west.", "west"),
    says("Out.", "west"),
    says("Home to the house. GOING TO: Front Yard", "east"),
    says("On to the house.", "north"),
    says("What is left over there?", "west"),
    says("Back to the garden.", "northeast"),
    says("A last look.", "look"),
]
"""Twenty-five turns, up to the limit."""
