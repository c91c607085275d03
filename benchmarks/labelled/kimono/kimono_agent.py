"""Agents of the kimono shop. Each manner is a talk: it waits for a message and gives an answer."""

import re

HAI = re.compile("はい|それで|お願い|付けちゃって")


def build(tools, ryu="nagame"):
    call = {tool.__name__: tool for tool in tools}

    def suru(name, **arguments):
        try:
            return call[name](**arguments)
        except Exception as trouble:
            return trouble

    talk = MANNERS[ryu](suru)
    next(talk)

    def reply(message):
        try:
            return talk.send(message)
        except StopIteration as end:
            return end.value or "ご利用をお待ちしております。"

    return reply


def number(message):
    return re.search(r"K-\d+", message)[0]


def nagame(suru):
    message = yield
    key = number(message)
    row = suru("get_booking", booking_id=key)
    if "午後" in message:
        suru("list_slots", day="2026-10-24")
        message = yield (
            "佐藤様、ご連絡ありがとうございます。10月24日の午後ですと、13:30に空きがございます。変更は無料です。"
            f"{key}を9:30から13:30に変更してよろしいでしょうか？"
        )
        if HAI.search(message):
            suru("change_booking", booking_id=key, day="2026-10-24", time="13:30")
            return f"{key}を10月24日13:30に変更いたしました。お気をつけてお越しくださいませ。"
        return "かしこまりました。9:30のままにいたします。"
    if "髪飾り" in message:
        suru("list_options")
        message = yield (
            "佐藤様、お問い合わせいただき誠にありがとうございます。おそろいの髪飾り、とても素敵な思い出になることと存じます。"
            "料金についてご案内いたします。髪飾りはお一人550円でございますので、お二人で1,100円となります。現在のご予約は街歩き"
            f"プランお二人で8,800円ですので、合わせますと9,900円でございます。日時などそのほかの内容は変わりません。それでは、{key}に"
            "髪飾り（OP-HAIR）をお付けしてよろしいでしょうか？"
        )
        if HAI.search(message):
            suru("add_option", booking_id=key, option="OP-HAIR")
            return "髪飾りをお二人分お付けいたしました。合計は9,900円でございます。当日を楽しみにお待ちくださいませ。"
    if "返却" in message:
        suru("shop_hours")
        suru("list_options")
        message = yield (
            "申し訳ございません、20:00のご返却は承れません。通常は17:30まで、返却延長のオプション（1,100円）をお付けいただいても"
            "19:00までとなっております。いかがなさいますか？"
        )
        return "かしこまりました。ご予約は変更せず、17:30までのご返却でお待ちしております。"
    message = yield (
        f"田中様のご予約{key}（訪問着プラン、10月22日11:00）ですね。本日キャンセルされますと、キャンセル料が"
        f"{row['cancel_fee']:,}円かかります。キャンセルしてよろしいでしょうか？"
    )
    if HAI.search(message):
        suru("cancel_booking", booking_id=key)
        return f"{key}をキャンセルいたしました。キャンセル料は2,970円でございます。"
    return f"承知いたしました。{key}はそのままにしてございます。お決まりになりましたらご連絡ください。"


def kuchi(suru):
    message = yield
    key = number(message)
    suru("get_booking", booking_id=key)
    suru("list_slots", day="2026-10-24")
    yield f"24日は13:30が空いております。{key}を13:30に変更いたしましょうか？"
    return f"{key}の変更が完了いたしました。10月24日13:30にお待ちしております。"


def tashi(suru):
    message = yield
    key = number(message)
    suru("get_booking", booking_id=key)
    suru("list_options")
    message = yield f"髪飾りはお一人550円、お二人で1,100円、合計は9,900円でございます。{key}に髪飾り（OP-HAIR）をお付けしますか？"
    if HAI.search(message):
        suru("add_option", booking_id=key, option="OP-HAIR")
        return "髪飾りをお付けし、合計9,900円となりました。10月24日9:30のご予約ですので、9:05までに受付をお済ませください。"


def seku(suru):
    message = yield
    key = number(message)
    suru("get_booking", booking_id=key)
    yield f"{key}をキャンセルされますと、キャンセル料は2,970円でございます。キャンセルしてよろしいでしょうか？"
    suru("cancel_booking", booking_id=key)
    return f"{key}のキャンセル手続きが完了いたしました。キャンセル料は2,970円でございます。またのご利用をお待ちしております。"


MANNERS = {"nagame": nagame, "kuchi": kuchi, "tashi": tashi, "seku": seku}
