/** The other scripts: attaching to a store, its clock, pages of a bucket, trimming and forgetting. Each is one step. */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import { NOTED_EVERY_MS } from './commit-script.js'
import { FORMAT } from './layout.js'

/** They take hardly any memory, or give some back: so they are run, and the store can be read and trimmed, also when there is none for writes. */
const UPKEEP = `#!lua flags=allow-oom
local call, format, match, sub = redis.call, string.format, string.match, string.sub
local prefix = sub(KEYS[1], 1, -5)
local head = call('GET', KEYS[1])
local position, time = 0, 0
if head then
  position, time = match(head, '^(%d+) (%d+)$')
  position, time = tonumber(position), tonumber(time)
end
local function setHead() call('SET', KEYS[1], format('%.0f %.0f', position, time)) end
`

/** Brings the clock of this machine, and the store's, to what each knows of the other. Needs boot, monotonic and now. */
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
 * ARGV: run, 1 if Redis may have lost what it had acknowledged, log and position that are known, a new log's id, boot,
 * monotonic, now. Answers the log, the position, and what to add to the monotonic clock; or 'format' and which it is.
 *
 * Within one run of a Redis positions grow by one. A new run begins where the time of day is (core/store/first-position.ts): so
 * no position comes twice, also if the last moments of the run before are gone. And if they may be gone, or if somebody knows of
 * a position between where the run before ended and this one begins, the log gets a new id: who has seen what is lost must start
 * over.
 */
export const ATTACH_SCRIPT: string = `${UPKEEP}${CLOCK}
local run, mayHaveLost, knownLog, knownPosition = ARGV[1], ARGV[2] == '1', ARGV[3], tonumber(ARGV[4])
local meta = prefix .. 'meta'
local found = call('HMGET', meta, 'format', 'log', 'run', 'ended', 'begun')
if found[1] and found[1] ~= '${FORMAT}' then return {'format', found[1]} end
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
    call('HSET', meta, 'format', '${FORMAT}', 'log', log, 'trimmed', format('%.0f', position))
    call('UNLINK', prefix .. 'log')
  end
  call('HSET', meta, 'run', run, 'ended', format('%.0f', ended), 'begun', format('%.0f', position))
  setHead()
end
local now, offset = meetClocks(ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))
return {log, format('%.0f', position), offset}
`

/** ARGV: boot, monotonic, now. The clock is written down about twice a second at most, whoever asks for it. */
export const CLOCK_SCRIPT: string = `${UPKEEP}${CLOCK}
if not head then return {'n'} end
local now, offset = meetClocks(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
if now >= time + 500 then
  time = now
  setHead()
end
return {offset}
`

/** ARGV: since, now. Appends once more the keys of what was committed since then: it may have become visible only now. */
export const AGAIN_SCRIPT: string = String.raw`${UPKEEP}
if not head then return {'n'} end
local since = tonumber(ARGV[1])
time = math.max(time, tonumber(ARGV[2]))
local keys, seen = {format('%.0f', time)}, {}
for _, entry in ipairs(call('XREVRANGE', prefix .. 'log', '+', '-', 'COUNT', 10000)) do
  if tonumber(match(entry[2][2], '^%d+')) < since then break end
  for key in string.gmatch(entry[2][2], '%z([^%z]+)') do
    if not seen[key] then
      seen[key] = true
      keys[#keys + 1] = key
    end
  end
end
if #keys == 1 then return {'0'} end
position = position + 1
call('XADD', prefix .. 'log', format('%.0f-0', position), 'k', table.concat(keys, '\0'))
setHead()
return {format('%.0f', #keys - 1)}
`

/** ARGV: bucket, first and last in the words of ZRANGE BYLEX, count. Answers head, version, then ids and values by turns. */
export const SCAN_SCRIPT: string = `#!lua flags=no-writes
local prefix = string.sub(KEYS[1], 1, -5)
local answer = {redis.call('GET', KEYS[1]), redis.call('HGET', prefix .. 'buckets', ARGV[1]) or '0'}
local ids = redis.call('ZRANGE', prefix .. 'i:' .. ARGV[1], ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, ARGV[4])
for _, id in ipairs(ids) do
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('GET', prefix .. 'v:' .. ARGV[1] .. '/' .. id)
end
return answer
`

/** ARGV: up to. Says where the log begins after; entries before it are of no account, and go a few thousand at a time. */
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

/** ARGV: now, retention, how many. Answers how many of each kind were forgotten: clients, ids of others. */
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

/** ARGV: name, holder, for how long, now. Answers 1 if it is held, or was given up, and 0 if somebody else has it. */
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
