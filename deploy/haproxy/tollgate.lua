-- Rate limits for HAProxy (2.6 or later) by Tollgate's gateway: the action `lua.tollgate`, which haproxy.cfg uses.
--
-- It asks at the door that Caddy and Traefik ask at too, since that one brings paths into one form before it looks them
-- up. The decision API would take each spelling of a path for an endpoint of its own.

local door = "http://127.0.0.1:8080/v1/forward-auth"

-- How long HAProxy waits for an answer.
local timeout_ms = 1000

-- What the gateway is told of the client's own fields: what preflights and scripts of other origins are known by. Add
-- the header that tells clients apart, where the gateway's config names one.
local told = { "origin", "access-control-request-method", "access-control-request-headers" }

-- A denial is sent as it is, and so is a question that was refused: no request passes without an answer.
local function deny(txn, answer)
    local reply = txn:reply{ status = answer.status, body = answer.body }
    for name, values in pairs(answer.headers) do
        if name ~= "content-length" and name ~= "date" then
            for _, value in pairs(values) do
                reply:add_header(name, value)
            end
        end
    end
    txn:done(reply)
end

local function judge(txn)
    -- Set anew, so that nothing the client sent under these names is believed.
    local question = {
        ["x-forwarded-method"] = { txn.sf:method() },
        ["x-forwarded-uri"] = { txn.sf:url() },
        ["x-forwarded-host"] = { txn.sf:req_fhdr("host") },
        ["x-forwarded-for"] = { txn.sf:src() },
    }
    local fields = txn.http:req_get_headers()
    for _, name in ipairs(told) do
        question[name] = fields[name]
    end
    local answer = core.httpclient():get{ url = door, headers = question, timeout = timeout_ms }
    if answer.status < 200 or answer.status > 299 then
        deny(txn, answer)
        return
    end
    -- For the answer of those that pass.
    for name, variable in pairs({ ratelimit = "limit", ["ratelimit-policy"] = "policy" }) do
        local values = answer.headers[name]
        if values then
            txn:set_var("txn.tollgate_" .. variable, values[0])
        end
    end
end

core.register_action("tollgate", { "http-req" }, judge)
