"""What the agent can do about a request, one function per intent: each gives the next step."""

from collections.abc import Callable

from support.actions import account, orders, products, returns
from support.actions.work import Work
from support.dialogue import Step
from support.intents import Intent

ACTIONS: dict[Intent, Callable[[Work], Step]] = {
    Intent.OUT_OF_SCOPE: account.escalate,
    Intent.HUMAN: account.refuse_human,
    Intent.CHANGE_EMAIL: account.change_email,
    Intent.COMPENSATE: returns.compensate,
    Intent.PROFILE: account.profile,
    Intent.CHANGE_PAYMENT: orders.change_payment,
    Intent.CHANGE_DEFAULT_ADDRESS: account.change_default_address,
    Intent.CHANGE_ADDRESS: orders.change_address,
    Intent.DISCOUNT: account.refuse_discount,
    Intent.ADVICE: account.refuse_advice,
    Intent.RETURN_STATUS: returns.return_status,
    Intent.EXCHANGE: returns.exchange_items,
    Intent.CANCEL: orders.cancel,
    Intent.RETURN: returns.return_items,
    Intent.LIST_ORDERS: orders.list_orders,
    Intent.ORDER_STATUS: orders.status,
    Intent.PRODUCT: products.product,
    Intent.UNCLEAR: orders.clarify,
}
