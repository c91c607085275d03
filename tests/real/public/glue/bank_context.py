from pydantic_ai_examples import bank_support as bank


def make_context(state, customer_id):
    bank.cur = state.cursor()  # the example reads a cursor that it makes under `if __name__ == "__main__"` alone
    return bank.SupportDependencies(customer_id, bank.DatabaseConn(state))
