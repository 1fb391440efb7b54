/**
 * The script that makes commits: it reads everything, decides everything, and then writes. Redis runs nothing else meanwhile, but
 * rolls nothing back either. So after the first write nothing may fail: Redis checks its memory before the script begins (`#!lua`
 * without flags asks for that), and the entry of the log, the only write that could be refused, goes first.
 *
 * It makes all commits of one turn, one after the other, and answers each of them. The head and the versions of buckets, which
 * they share, are read and written once.
 *
 * The rules are those of core: counters/client-window.ts and counters/counter.ts, store/changed-lists.ts. The conformance suite
 * checks that they agree. Numbers are doubles, exact to 2^53, and written with %.0f: tostring would round them.
 *
 * KEYS[1] is the head; all other keys have the same prefix, and lie in the same slot. ARGV is the clock, and an array in
 * MessagePack with an array for each commit, consisting of rows:
 *
 *     o client sequence settledTo madeMs fingerprint note retentionMs     an operation of one of our clients
 *     f id fingerprint note                                               a foreign operation; `o` or `f` is the first row
 *     r key version                                                       a version that was read and must still hold
 *     l bucket version from to after prefix through                       each bound as +TEXT, or empty if absent
 *     w key type body                                                     type: the bytes before and after the version in a value
 *     d key
 *     a key by decimals min max                                           min and max empty if absent
 *
 * and, where buckets have indexes (commit-index-script.ts), before the writes
 *
 *     i bucket stamp [[number, field, ...], ...]                the indexes that records are derived from, after its own `n`
 *     n bucket before after first last [number, ...]            its indexes before and after, in JSON; the first and the last
 *                                                               of the new numbers, or 0; the dropped numbers
 *     t bucket version isLost [tag, ...]                        no write since then has one of these tags; isLost is 1 if one
 *                                                               of them has no index that was declared by then
 *     b key version record                                      the record of the object with this version
 *     x key record isSum                                        its new record, empty if it is deleted; isSum is 1 with `a`
 *
 *     record      [[number, values, spelled, ...], ...]   for each index: the values as in entries (index-keys.ts) and in tags
 *
 * There, numbers are numbers, and texts and bytes are strings. The answer is 'n' if there is no store here, or no longer.
 * Otherwise it is an array with an answer for each commit: a text, 'c' position and the units reached, with spaces between; or
 * an array:
 *
 *     p position units note                done before
 *     o reason                             an operation that is refused
 *     x count key version ... key version  `count` reads that do not hold; after them, the buckets of lists that do not
 *     u key units reason ...               additions that are refused; units are empty if the value is not a counter
 *     s last bucket stamp indexes ...      nothing was done: these buckets have other indexes, given here; the last number used
 *     b key value ...                      nothing was done: the records of these objects are needed
 *     e message                            it failed, since Redis holds data that Freshet did not write
 */
import { AHEAD_MS_MAX, UNSETTLED_MAX } from '@freshet/core/counters'
import { INDEXES } from './commit-index-script.js'

/**
 * To validate a list, the script reads at most this many commits of the log; if there are more, the list must be read again.
 * Redis does nothing else meanwhile.
 */
const COMMITS_MAX = 1000
/** About how often the script notes that a client was here. So a client is forgotten up to this much later. */
export const NOTED_EVERY_MS = 60_000

const BASICS = `
local head = redis.call('GET', KEYS[1])
if not head then return 'n' end
local call, format, match, sub, byte = redis.call, string.format, string.match, string.sub, string.byte
local prefix = sub(KEYS[1], 1, -5)
local logKey, valuePrefix = prefix .. 'log', prefix .. 'v:'
local positionText, timeText, mark = match(head, '^(%d+) (%d+)(.*)$')
local now = math.max(tonumber(timeText), tonumber(ARGV[1]))
local args
`

const OPERATIONS = `
local operation, settled, noted

local function judgeDone(record, fingerprint)
  local done = cmsgpack.unpack(record)
  if done[1] ~= fingerprint then return {'o', 'mismatched'} end
  return {'p', done[2], done[3], done[4]}
end

local function countAfter(key, from)
  local size = call('HLEN', key) - 2
  if size < ${UNSETTLED_MAX} then return size end
  size = 0
  for _, field in ipairs(call('HKEYS', key)) do
    local sequence = tonumber(field)
    if sequence and sequence > from then size = size + 1 end
  end
  return size
end

local function judgeOwn(i)
  local key = prefix .. 'c:' .. args[i + 1]
  local window = call('HMGET', key, format('%.0f', args[i + 2]), 's', 'l')
  if window[1] then return judgeDone(window[1], args[i + 5]) end
  settled, noted = tonumber(window[2] or 0), tonumber(window[3] or 0)
  local made = args[i + 4]
  if args[i + 2] <= settled then return {'o', 'settled'} end
  if made < now - args[i + 7] then return {'o', 'expired'} end
  if made > now + ${AHEAD_MS_MAX} then return {'o', 'early'} end
  if window[2] and countAfter(key, args[i + 3]) >= ${UNSETTLED_MAX} then return {'o', 'overflowing'} end
end

local function judgeForeign(i)
  local record = call('HGET', prefix .. 'foreign', args[i + 1])
  return record and judgeDone(record, args[i + 2])
end

-- Removes what is settled. Sequences are whole numbers, and those up to the old mark are gone already.
local function settle(key, upTo)
  if upTo - settled <= 100 then
    for sequence = settled + 1, upTo do call('HDEL', key, format('%.0f', sequence)) end
    return
  end
  for _, field in ipairs(call('HKEYS', key)) do
    local sequence = tonumber(field)
    if sequence and sequence <= upTo then call('HDEL', key, field) end
  end
end

local function rememberOwn(i, position, units)
  local client, upTo = args[i + 1], args[i + 3]
  local key = prefix .. 'c:' .. client
  if upTo > settled then
    if noted > 0 or settled > 0 then settle(key, upTo) end
    settled = upTo
  end
  local record = cmsgpack.pack({args[i + 5], position, units, args[i + 6]})
  if noted == 0 or now - noted >= ${NOTED_EVERY_MS} then
    noted = math.max(noted, now, 1)
    call('ZADD', prefix .. 'clients', format('%.0f', noted), client)
  end
  call('HSET', key, 's', format('%.0f', settled), 'l', format('%.0f', noted), format('%.0f', args[i + 2]), record)
end

local function rememberForeign(i, position, units)
  call('HSET', prefix .. 'foreign', args[i + 1], cmsgpack.pack({args[i + 2], position, units, args[i + 3]}))
  call('XADD', prefix .. 'foreign-log', position .. '-*', 'i', args[i + 1], 't', format('%.0f', now))
end

local function remember(position, units)
  if not operation then return end
  if args[operation] == 'o' then rememberOwn(operation, position, units) else rememberForeign(operation, position, units) end
end
`

const READS = `
local function versionOf(key)
  local start = call('GETRANGE', valuePrefix .. key, 0, 7)
  return #start == 8 and struct.unpack('<I7', start, 2) or 0
end

-- Lua's own < depends on the locale of the server.
local function isBefore(a, b)
  for j = 1, math.min(#a, #b) do
    local x, y = byte(a, j), byte(b, j)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local versions = {}

local function versionOfBucket(bucket)
  versions[bucket] = versions[bucket] or call('HGET', prefix .. 'buckets', bucket) or '0'
  return versions[bucket]
end

local function bound(i)
  return args[i] ~= '' and sub(args[i], 2) or nil
end

local function hasListChanged(i)
  local since = args[i + 2]
  if tonumber(versionOfBucket(args[i + 1])) <= since then return false end
  if since < tonumber(call('HGET', prefix .. 'meta', 'trimmed')) then return true end
  local from, to, after, start, through = bound(i + 3), bound(i + 4), bound(i + 5), bound(i + 6), bound(i + 7)
  local within = args[i + 1] .. '/'
  local entries = call('XRANGE', logKey, format('(%.0f-0', since), '+', 'COUNT', ${COMMITS_MAX + 1})
  if #entries > ${COMMITS_MAX} then return true end
  for _, entry in ipairs(entries) do
    for key in string.gmatch(entry[2][2], '%z([^%z]+)') do
      if sub(key, 1, #within) == within then
        local id = sub(key, #within + 1)
        local isOut = (from and isBefore(id, from)) or (to and not isBefore(id, to)) or (after and not isBefore(after, id))
          or (start and sub(id, 1, #start) ~= start) or (through and isBefore(through, id))
        if not isOut then return true end
      end
    end
  end
  return false
end
`

const COUNTERS = `
local SAFE_MAX = 9007199254740991

-- Nil if the text is not a number with at most that many decimals, or is too large to be exact.
local function parseUnits(text, decimals)
  local sign, whole, fraction = match(text, '^(%-?)(%d+)$'), nil, ''
  if sign then whole = match(text, '%d+') else sign, whole, fraction = match(text, '^(%-?)(%d+)%.(%d+)$') end
  if not whole or (#whole > 1 and byte(whole) == 48) or #fraction > decimals then return nil end
  local units = tonumber(sign .. whole .. fraction .. string.rep('0', decimals - #fraction))
  if math.abs(units) > SAFE_MAX then return nil end
  return units == 0 and 0 or units
end

local function formatUnits(units, decimals)
  if decimals == 0 then return format('%.0f', units) end
  local digits = format('%.0f', math.abs(units))
  digits = string.rep('0', decimals + 1 - #digits) .. digits
  return (units < 0 and '-' or '') .. sub(digits, 1, -decimals - 1) .. '.' .. sub(digits, -decimals)
end

local function bodyOf(record)
  return sub(record, byte(record) == 0 and 10 + byte(record, 9) or 9)
end

-- The units and the text of the counter after the addition; or nil, its units before, and the reason for the refusal.
local function addTo(i)
  local record = call('GET', valuePrefix .. args[i + 1])
  local by, decimals, min, max = args[i + 2], args[i + 3], tonumber(args[i + 4]), tonumber(args[i + 5])
  local before = 0
  if record then before = parseUnits(bodyOf(record), decimals) end
  if not before then return nil, '', 'no-counter' end
  local units = before + by
  if math.abs(units) > SAFE_MAX then return nil, format('%.0f', before), 'inexact' end
  if min and units < min and by < 0 then return nil, format('%.0f', before), 'below-min' end
  if max and units > max and by > 0 then return nil, format('%.0f', before), 'above-max' end
  return units, formatUnits(units, decimals)
end
`

const DECIDE = `
-- The answer that refuses the commit, or nil; then its writes and its additions.
local function decide()
  -- Creates only the tables that the commit needs: most commits have one write.
  local conflicts, lists, seen, writes, adds = NOTHING, NOTHING, NOTHING, {}, NOTHING
  local i, last = 1, #args
  while i <= last do
    local kind = args[i]
    if kind == 'w' then
      writes[#writes + 1] = i
      if mark ~= '' then expectNoIndexes(args[i + 1]) end
      i = i + 4
    elseif kind == 'd' then
      writes[#writes + 1] = i
      if mark ~= '' then expectNoIndexes(args[i + 1]) end
      i = i + 2
    elseif kind == 'a' then
      if adds == NOTHING then adds = {} end
      adds[#adds + 1] = i
      if mark ~= '' then expectNoIndexes(args[i + 1]) end
      i = i + 6
    elseif kind == 'r' then
      local version = versionOf(args[i + 1])
      if version ~= args[i + 2] then
        if conflicts == NOTHING then conflicts = {} end
        conflicts[#conflicts + 1] = args[i + 1]
        conflicts[#conflicts + 1] = format('%.0f', version)
      end
      i = i + 3
    elseif kind == 'l' or kind == 't' then
      local bucket = args[i + 1]
      local isTags = kind == 't'
      if not seen[bucket] and (isTags and haveTagsChanged or hasListChanged)(i) then
        if seen == NOTHING then seen, lists = {}, {} end
        seen[bucket] = true
        lists[#lists + 1] = bucket
        lists[#lists + 1] = versionOfBucket(bucket)
      end
      i = i + (isTags and 5 or 8)
    elseif kind == 'i' then
      beginIndexes()
      declared[args[i + 1]] = args[i + 3]
      expectStamp(args[i + 1], args[i + 2])
      i = i + 4
    elseif kind == 'n' then
      beginIndexes()
      declarations[#declarations + 1] = i
      expectIndexes(i)
      i = i + 7
    elseif kind == 'b' then
      beginIndexes()
      known[args[i + 1]] = i
      i = i + 4
    elseif kind == 'x' then
      beginIndexes()
      indexed[#indexed + 1] = i
      i = i + 4
    else
      operation = i
      local refused = (kind == 'o' and judgeOwn or judgeForeign)(i)
      if refused then return refused end
      i = i + (kind == 'o' and 8 or 4)
    end
  end
  local answer = hasIndexes and staleAnswer()
  if answer then return answer end
  if #conflicts + #lists == 0 then return nil, writes, adds end
  local refused = {'x', tostring(#conflicts / 2)}
  for _, part in ipairs(conflicts) do refused[#refused + 1] = part end
  for _, part in ipairs(lists) do refused[#refused + 1] = part end
  return refused
end

local function sumUp(adds)
  local sums, reached, refused = {}, {}, {'u'}
  for n, at in ipairs(adds) do
    local units, text, reason = addTo(at)
    if units then
      sums[n], reached[n] = text, format('%.0f', units)
    else
      for _, part in ipairs({args[at + 1], text, reason}) do refused[#refused + 1] = part end
    end
  end
  return #refused > 1 and refused or nil, sums, table.concat(reached, ' ')
end
`

/** The content type of a counter is the first in the list of value-record.ts of @freshet/store. */
const WRITE = String.raw`
local changed = {}

-- Notes that the key's bucket has changed. For an object, returns the bucket that lists its id, and the id.
local function touch(key)
  local bucket = match(key, '^[^/]*/[^/]*') or key
  versions[bucket], changed[bucket] = positionText, true
  return #bucket < #key and bucket or nil, sub(key, #bucket + 2)
end

local function put(key, record)
  local bucket, id = touch(key)
  local valueKey = valuePrefix .. key
  if call('SET', valueKey, record, 'XX') then return end
  call('SET', valueKey, record)
  if bucket then call('ZADD', prefix .. 'i:' .. bucket, 0, id) end
end

local function remove(key)
  local bucket, id = touch(key)
  if call('DEL', valuePrefix .. key) > 0 and bucket then call('ZREM', prefix .. 'i:' .. bucket, id) end
end

local function commit()
  if hasIndexes then
    hasIndexes, declared, declarations, known, indexed = false, NOTHING, NOTHING, NOTHING, NOTHING
    stale, isStale, isTaken = NOTHING, NOTHING, false
  end
  local refused, writes, adds = decide()
  if refused then return refused end
  local sums, units = NOTHING, ''
  if #adds > 0 then
    refused, sums, units = sumUp(adds)
    if refused then return refused end
  end
  if #writes + #adds == 0 then
    remember(positionText, units)
    return 'c' .. positionText
  end
  local unknown, tags, entries = nil, NOTHING, NOTHING
  if hasIndexes then unknown, tags, entries = planIndexes() end
  if unknown then return unknown end
  local position = tonumber(positionText) + 1
  local keys
  if #writes + #adds == 1 then
    keys = timeText .. '\0' .. args[(writes[1] or adds[1]) + 1]
  else
    local parts = {timeText}
    for _, at in ipairs(writes) do parts[#parts + 1] = args[at + 1] end
    for _, at in ipairs(adds) do parts[#parts + 1] = args[at + 1] end
    keys = table.concat(parts, '\0')
  end
  if #tags == 0 then
    call('XADD', logKey, format('%.0f-0', position), 'k', keys)
  else
    call('XADD', logKey, format('%.0f-0', position), 'k', keys, 't', table.concat(tags, '\0'))
  end
  positionText = format('%.0f', position)
  if hasIndexes then
    declareIndexes()
    writeIndexes(tags, entries)
  end
  local version = struct.pack('<I7', position)
  for _, at in ipairs(writes) do
    local contentType = args[at + 2]
    if args[at] == 'd' then
      remove(args[at + 1])
    elseif #contentType == 1 then
      put(args[at + 1], contentType .. version .. args[at + 3])
    else
      put(args[at + 1], sub(contentType, 1, 1) .. version .. sub(contentType, 2) .. args[at + 3])
    end
  end
  for n, at in ipairs(adds) do put(args[at + 1], '\1' .. version .. sums[n]) end
  remember(positionText, units)
  if #adds > 0 then return 'c' .. positionText .. ' ' .. units end
  return 'c' .. positionText
end

timeText = format('%.0f', now)
local before, answers = positionText, {}
for n, each in ipairs(cmsgpack.unpack(ARGV[2])) do
  args, operation = each, nil
  local isDone, answer = pcall(commit)
  if not isDone then answer = {'e', type(answer) == 'table' and answer.err or tostring(answer)} end
  answers[n] = answer
end
if positionText ~= before then
  for bucket in pairs(changed) do call('HSET', prefix .. 'buckets', bucket, versions[bucket]) end
  call('SET', KEYS[1], positionText .. ' ' .. timeText .. mark)
end
return answers
`

export const COMMIT_SCRIPT: string = `#!lua${BASICS}${OPERATIONS}${READS}${INDEXES}${COUNTERS}${DECIDE}${WRITE}`
