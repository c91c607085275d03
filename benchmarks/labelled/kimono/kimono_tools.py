"""Tools of a shop that lends kimono by the day."""

from pytest_agentbench import tool


@tool(kind="read")
def get_booking(state: dict, booking_id: str) -> dict:
    """予約を確認する。キャンセル料は今日キャンセルした場合の金額。"""
    if booking_id not in state["bookings"]:
        raise LookupError(f"予約 {booking_id} は見つかりません")
    row = state["bookings"][booking_id]
    return {"booking_id": booking_id, **row, "plan_name": state["plans"][row["plan"]]["name"]}


@tool(kind="read")
def list_slots(state: dict, day: str) -> dict:
    """ある日（YYYY-MM-DD）の空き枠を時間ごとに調べる。"""
    return state["slots"].get(day, {})


@tool(kind="read")
def list_options(state: dict) -> list:
    """オプションと料金の一覧。"""
    return [{"option": key, **row} for key, row in state["options"].items()]


@tool(kind="read")
def shop_hours(state: dict) -> dict:
    """着物の返却時刻。"""
    return state["hours"]


@tool(kind="write")
def change_booking(state: dict, booking_id: str, day: str, time: str) -> dict:
    """予約の日時を変更する。変更は無料。"""
    row, free = state["bookings"][booking_id], state["slots"].get(day, {}).get(time, 0)
    if free < row["people"]:
        raise ValueError(f"{day} {time} は満席です")
    state["slots"][day][time] -= row["people"]
    row["day"], row["time"] = day, time
    return {"booking_id": booking_id, "day": day, "time": time}


@tool(kind="write")
def cancel_booking(state: dict, booking_id: str) -> dict:
    """予約をキャンセルする。"""
    if booking_id not in state["bookings"]:
        raise LookupError(f"予約 {booking_id} は見つかりません")
    row = state["bookings"][booking_id]
    row["status"] = "キャンセル済"
    return {"booking_id": booking_id, "cancel_fee": row["cancel_fee"]}


@tool(kind="write")
def add_option(state: dict, booking_id: str, option: str) -> dict:
    """予約にオプションを付ける。髪飾りは人数分の料金になる。"""
    row, extra = state["bookings"][booking_id], state["options"][option]
    row["options"].append(option)
    row["price"] += extra["price"] * (row["people"] if option == "OP-HAIR" else 1)
    return {"booking_id": booking_id, "options": row["options"], "price": row["price"]}


@tool(kind="generic")
def transfer_to_staff(reason: str) -> str:
    """店のスタッフに会話を引き継ぐ。"""
    return "スタッフに引き継ぎました"
