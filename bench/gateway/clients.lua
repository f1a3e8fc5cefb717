-- A request as 100,000 clients send it.
local count = 0
request = function()
  count = (count + 48271) % 100000
  local address = string.format("10.%d.%d.%d", count % 7, math.floor(count / 256) % 256, count % 256)
  return wrk.format("GET", "/search", { ["X-Forwarded-For"] = address })
end
