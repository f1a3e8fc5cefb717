-- The same for throttlecrab's server.
local count = 0
request = function()
  count = (count + 48271) % 100000
  local body = string.format(
    '{"key":"client-%06d","max_burst":1000,"count_per_period":1000,"period":1}', count)
  return wrk.format("POST", "/throttle", { ["Content-Type"] = "application/json" }, body)
end
