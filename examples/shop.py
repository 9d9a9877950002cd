"""A web shop. The task is to order milk. `python -m examples.shop` plays it with and without memory."""

from examples.agent import Outcome, main

HOME, DAIRY, ACCOUNT, CART, BLOG = (
    f"https://shop.example{path}" for path in ("/", "/dairy", "/account", "/cart?step=1", "/blog")
)
_LINKS = {"go to the cart": CART, "go to the blog": BLOG, "go to dairy": DAIRY, "go to the account": ACCOUNT}
_ACTIONS = {
    HOME: ["click the banner", "search for milk"],
    BLOG: ["read the post", "like the post"],
    DAIRY: ["add cream", "add milk", "filter by price"],
    ACCOUNT: ["change the password", "save the address", "delete the account"],
    CART: ["enter a gift card", "check out"],
}


class Shop:
    """A session in the shop."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a new session with an empty cart and no address."""
        self.place = HOME
        self.cart: list[str] = []
        self.has_address = False

    def actions(self) -> list[str]:
        return [*_ACTIONS[self.place], *(_LINKS if self.place == HOME else ["go home"])]

    def act(self, action: str) -> Outcome:
        if action.startswith("go "):
            self.place = _LINKS.get(action, HOME)
            return Outcome(f"You see {self.place}.")
        if action == "add milk" and "milk" not in self.cart:
            self.cart.append("milk")
            return Outcome("Milk is in the cart.", changed=True)
        if action == "save the address" and not self.has_address:
            self.has_address = True
            return Outcome("The address is saved.", changed=True)
        if action == "check out":
            if "milk" in self.cart and self.has_address:
                return Outcome("The order is placed.", done=True)
            missing = "The cart is empty." if not self.cart else "The address is missing."
            return Outcome(f"It can't be ordered yet. {missing}")
        return Outcome(f"To {action} does nothing here.")


if __name__ == "__main__":
    main(Shop)
