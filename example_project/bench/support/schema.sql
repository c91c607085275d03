-- The shop's database. Amounts are euros; dates are ISO text and the shop's own "today" is data, not a clock.
CREATE TABLE shop (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  today TEXT NOT NULL
);
CREATE TABLE customers (
  customer_id TEXT PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE
);
-- A customer's default address, or the address that one order ships to: `owner` is the id of either.
CREATE TABLE addresses (
  owner TEXT PRIMARY KEY,
  street TEXT NOT NULL,
  city TEXT NOT NULL,
  postcode TEXT NOT NULL,
  country TEXT NOT NULL
);
CREATE TABLE products (
  product_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  name_fr TEXT NOT NULL
);
CREATE TABLE variants (
  item_id TEXT PRIMARY KEY,
  product_id TEXT NOT NULL REFERENCES products,
  colour TEXT,
  size TEXT,
  price REAL NOT NULL,
  stock INTEGER NOT NULL
);
CREATE TABLE payment_methods (
  payment_method_id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers,
  kind TEXT NOT NULL CHECK (kind IN ('card', 'paypal', 'gift_card', 'store_credit')),
  label TEXT NOT NULL,
  balance REAL,
  expired INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE orders (
  order_id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers,
  status TEXT NOT NULL CHECK (status IN ('pending', 'shipped', 'delivered', 'cancelled')),
  payment_method_id TEXT NOT NULL REFERENCES payment_methods,
  shipping_fee REAL NOT NULL,
  ordered_on TEXT NOT NULL,
  promised_on TEXT NOT NULL,
  delivered_on TEXT,
  tracking TEXT,
  packing INTEGER NOT NULL DEFAULT 0,
  cancel_reason TEXT
);
CREATE TABLE order_items (
  order_id TEXT NOT NULL REFERENCES orders,
  item_id TEXT NOT NULL REFERENCES variants,
  price REAL NOT NULL,
  PRIMARY KEY (order_id, item_id)
);
-- What was charged, refunded or credited for an order; `payment_id` counts within the order.
CREATE TABLE payments (
  payment_id TEXT PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders,
  payment_method_id TEXT NOT NULL REFERENCES payment_methods,
  kind TEXT NOT NULL CHECK (kind IN ('charge', 'refund', 'shipping_refund', 'credit')),
  amount REAL NOT NULL
);
-- One row per item that comes back; `new_item_id` is set for an exchange.
CREATE TABLE returns (
  order_id TEXT NOT NULL REFERENCES orders,
  item_id TEXT NOT NULL REFERENCES variants,
  new_item_id TEXT REFERENCES variants,
  payment_method_id TEXT NOT NULL REFERENCES payment_methods,
  PRIMARY KEY (order_id, item_id)
);
CREATE TABLE escalations (
  customer_id TEXT PRIMARY KEY REFERENCES customers,
  summary TEXT NOT NULL
);
