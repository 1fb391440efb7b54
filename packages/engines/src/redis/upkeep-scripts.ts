/** The other scripts: attaching to a store, its clock, trimming and forgetting. Each is one step. */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import { NOTED_EVERY_MS } from './commit-script.js'
import { FORMAT, FORMAT_WITH_INDEXES } from './layout.js'

/**
 * These scripts take hardly any memory, or free some. So they may run, and the store can be trimmed, when no memory is left for
 * writes.
 */
const UPKEEP = `#!lua flags=allow-oom
local call, format, match, sub = redis.call, string.format, string.match, string.sub
local prefix = sub(KEYS[1], 1, -5)
local head = call('GET', KEYS[1])
local position, time, mark = 0, 0, ''
if head then
  position, time, mark = match(head, '^(%d+) (%d+)(.*)$')
  position, time = tonumber(position), tonumber(time)
end
local function setHead() call('SET', KEYS[1], format('%.0f %.0f', position, time) .. mark) end
`

/** Sets the machine's clock and the store's forward to the later of the two. Needs boot, monotonic and now. */
const CLOCK = `
local function meetClocks(boot, monotonic, now)
  local offset = tonumber(call('HGET', prefix .. 'clocks', boot))
  local latest = math.max(time, now)
  if not offset or monotonic + offset < latest then
    offset = latest - monotonic
    call('HSET', prefix .. 'clocks', boot, format('%.0f', offset))
  end
  return monotonic + offset, format('%.0f', offset)
end
`

/**
 * ARGV: run, 1 if Redis may have lost what it had acknowledged, log and position that the server knows, a new log's id, boot,
 * monotonic, now. Returns the log, the position, and what to add to the monotonic clock; or 'format' and the format found.
 *
 * Within one run of Redis positions grow by one. A new run begins at the time of day (core/store/first-position.ts). So no
 * position is given twice, even if Redis has lost the last moments of the run before. If it may have lost them, or if the
 * server knows a position between the end of the run before and the beginning of this one, the log gets a new id: a reader that
 * has seen what is lost must start over.
 */
export const ATTACH_SCRIPT: string = `${UPKEEP}${CLOCK}
local run, mayHaveLost, knownLog, knownPosition = ARGV[1], ARGV[2] == '1', ARGV[3], tonumber(ARGV[4])
local meta = prefix .. 'meta'
local found = call('HMGET', meta, 'format', 'log', 'run', 'ended', 'begun')
local kind = found[1] or '${FORMAT}'
if kind ~= '${FORMAT}' and kind ~= '${FORMAT_WITH_INDEXES}' then return {'format', kind} end
if kind == '${FORMAT_WITH_INDEXES}' then mark = ' ' .. kind end
local log = found[2]
local isNew = not log or not head
local isBehind = false
if not isNew and knownLog == log then
  local ended, begun = tonumber(found[4] or 0), tonumber(found[5] or 0)
  isBehind = knownPosition > position or (knownPosition > ended and knownPosition < begun)
end
if isNew or isBehind or found[3] ~= run then
  local clock = call('TIME')
  local isAnother = isNew or isBehind or mayHaveLost
  local atTime = (tonumber(clock[1]) - 1767225600) * 100000 + math.floor(tonumber(clock[2]) / 10)
  local ended, after = position, math.max(position, knownPosition)
  if isAnother and after > 0 then after = after + 1000000 end
  position = math.max(after, atTime)
  if isAnother then
    log = ARGV[5]
    call('HSET', meta, 'format', kind, 'log', log, 'trimmed', format('%.0f', position))
    call('UNLINK', prefix .. 'log')
  end
  call('HSET', meta, 'run', run, 'ended', format('%.0f', ended), 'begun', format('%.0f', position))
  setHead()
end
local now, offset = meetClocks(ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))
return {log, format('%.0f', position), offset}
`

/** ARGV: boot, monotonic, now. Stores the clock about twice a second at most, however many servers ask. */
export const CLOCK_SCRIPT: string = `${UPKEEP}${CLOCK}
if not head then return {'n'} end
local now, offset = meetClocks(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
if now >= time + 500 then
  time = now
  setHead()
end
return {offset}
`

/** ARGV: since, now. Appends the keys and tags of all commits since then again: they may have become visible only now. */
export const AGAIN_SCRIPT: string = String.raw`${UPKEEP}
if not head then return {'n'} end
local since = tonumber(ARGV[1])
time = math.max(time, tonumber(ARGV[2]))
local keys, tags = {format('%.0f', time)}, {}
local function collect(found, text, pattern)
  for each in string.gmatch(text, pattern) do
    if not found[each] then
      found[each] = true
      found[#found + 1] = each
    end
  end
end
for _, entry in ipairs(call('XREVRANGE', prefix .. 'log', '+', '-', 'COUNT', 10000)) do
  if tonumber(match(entry[2][2], '^%d+')) < since then break end
  collect(keys, entry[2][2], '%z([^%z]+)')
  collect(tags, entry[2][4] or '', '[^%z]+')
end
if #keys == 1 then return {'0'} end
position = position + 1
local fields = {'k', table.concat(keys, '\0')}
if #tags > 0 then fields = {fields[1], fields[2], 't', table.concat(tags, '\0')} end
call('XADD', prefix .. 'log', format('%.0f-0', position), unpack(fields))
setHead()
return {format('%.0f', #keys - 1)}
`

/**
 * ARGV: up to. Moves the beginning of the log, and deletes entries before it, a few thousand at a time. Returns how many it
 * deleted.
 */
export const TRIM_SCRIPT: string = `${UPKEEP}
if not head then return {'n'} end
local trimmed = tonumber(call('HGET', prefix .. 'meta', 'trimmed'))
local upTo = math.min(tonumber(ARGV[1]), position)
if upTo > trimmed then
  trimmed = upTo
  call('HSET', prefix .. 'meta', 'trimmed', format('%.0f', trimmed))
end
return {format('%.0f', call('XTRIM', prefix .. 'log', 'MINID', '~', format('%.0f', trimmed + 1), 'LIMIT', 5000))}
`

/** ARGV: now, retention, how many. Returns how many it has forgotten of each kind: clients, foreign ids. */
export const FORGET_SCRIPT: string = `${UPKEEP}
if not head then return {'n'} end
local now, retention, count = math.max(time, tonumber(ARGV[1])), tonumber(ARGV[2]), tonumber(ARGV[3])
local latest = format('(%.0f', now - retention - ${AHEAD_MS_MAX + NOTED_EVERY_MS})
local clients = call('ZRANGE', prefix .. 'clients', '-inf', latest, 'BYSCORE', 'LIMIT', 0, count)
for _, client in ipairs(clients) do
  call('DEL', prefix .. 'c:' .. client)
  call('ZREM', prefix .. 'clients', client)
end
local forgotten = 0
for _, entry in ipairs(call('XRANGE', prefix .. 'foreign-log', '-', '+', 'COUNT', count)) do
  local id = entry[2][2]
  if now - tonumber(entry[2][4]) <= retention then break end
  local record = call('HGET', prefix .. 'foreign', id)
  -- An id that was used again since has an entry of its own further on.
  if record and cmsgpack.unpack(record)[2] == match(entry[1], '^%d+') then call('HDEL', prefix .. 'foreign', id) end
  call('XDEL', prefix .. 'foreign-log', entry[1])
  forgotten = forgotten + 1
end
return {#clients, forgotten}
`

/** ARGV: name, holder, for how long, now. Returns 1 if the holder has it, or has released it, and 0 if another holder has it. */
export const HOLD_SCRIPT: string = `${UPKEEP}
if not head then return {'n'} end
local holders, now = prefix .. 'holders', math.max(time, tonumber(ARGV[4]))
local untilText, holder = match(call('HGET', holders, ARGV[1]) or '', '^(%d+) (.*)$')
if holder and holder ~= ARGV[2] and tonumber(untilText) > now then return 0 end
if tonumber(ARGV[3]) > 0 then
  call('HSET', holders, ARGV[1], format('%.0f ', now + ARGV[3]) .. ARGV[2])
elseif holder then
  call('HDEL', holders, ARGV[1])
end
return 1
`
