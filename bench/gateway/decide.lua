-- One question a request, over 100,000 clients in an order of its own.
local count = 0
request = function()
  count = (count + 48271) % 100000
  local body = string.format('{"clientId":"client-%06d","endpoint":"/search"}', count)
  return wrk.format("POST", "/v1/allow", { ["Content-Type"] = "application/json" }, body)
end
