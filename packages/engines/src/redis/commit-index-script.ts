/**
 * The part of the commit script that keeps indexes and tags. It parses nothing: the server derives the record of each object,
 * which has its values under the indexes of its bucket, and the script only compares, removes and adds.
 *
 * That is right only if the server knows the current indexes. So each commit states the change of a bucket's indexes that its
 * records are derived from (the stamp, which is the position of that change). If the indexes have changed since, the answer is
 * 's', with the current indexes; nothing was done, and the server derives the records again.
 *
 * An object's current record lies beside the object, from its first write after the declaration, or from the build. Before
 * that, the script does not know the values that a write replaces. Then the answer is 'b', with the object, and the server
 * sends the commit again with the object's record. The sum before an addition was a number, which has no fields: its record is
 * the same as after it.
 */
import { FORMAT_WITH_INDEXES } from './layout.js'

/** `mark`: the text after the clock in the head; empty as long as no bucket has ever had an index. */
export const INDEXES: string = `
local NOTHING, stamps = {}, {}
-- Whether the commit has rows about indexes, or must have some. While it is false, the tables are empty and shared.
local hasIndexes = false
local declared, declarations, known, indexed, stale, isStale, isTaken = NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, false

local function beginIndexes()
  if hasIndexes then return end
  hasIndexes = true
  declared, declarations, known, indexed, stale, isStale, isTaken = {}, {}, {}, {}, {}, {}, false
end

local function stampOf(bucket)
  if mark == '' then return '0' end
  stamps[bucket] = stamps[bucket] or call('HGET', prefix .. 'declared', bucket) or '0'
  return stamps[bucket]
end

local function lastNumber()
  return call('HGET', prefix .. 'meta', 'indexes') or '0'
end

local function indexesOf(bucket)
  return call('HGET', prefix .. 'indexes', bucket) or '[]'
end

local function setStale(bucket)
  beginIndexes()
  if isStale[bucket] then return end
  isStale[bucket] = true
  stale[#stale + 1] = bucket
end

local function expectStamp(bucket, stamp)
  if stampOf(bucket) ~= stamp then setStale(bucket) end
end

-- The indexes before the declaration must be the current ones, as far as they are built by now; no number may be given twice.
local function expectIndexes(i)
  if indexesOf(args[i + 1]) ~= args[i + 2] then setStale(args[i + 1]) end
  isTaken = isTaken or (args[i + 4] > 0 and args[i + 4] <= tonumber(lastNumber()))
end

-- If the commit has no row about the indexes of a written bucket, the bucket must have none.
local function expectNoIndexes(key)
  local bucket = match(key, '^[^/]*/[^/]*') or key
  if not declared[bucket] then expectStamp(bucket, '0') end
end

-- The answer to a commit that was derived from other indexes.
local function staleAnswer()
  if #stale == 0 and not isTaken then return nil end
  local answer = {'s', lastNumber()}
  for _, bucket in ipairs(stale) do
    answer[#answer + 1] = bucket
    answer[#answer + 1] = stampOf(bucket)
    answer[#answer + 1] = indexesOf(bucket)
  end
  return answer
end

local function haveTagsChanged(i)
  local since = args[i + 2]
  if tonumber(versionOfBucket(args[i + 1])) <= since then return false end
  if args[i + 3] == 1 then return true end
  for _, tag in ipairs(args[i + 4]) do
    if tonumber(call('HGET', prefix .. 'tags', tag) or 0) > since then return true end
  end
  return false
end

local function byNumber(record)
  local found = {}
  for _, own in ipairs(record) do found[own[1]] = own end
  return found
end

-- The record of an object before the commit, by the numbers of the indexes; nil if it is not known.
local function before(at, bucket, id)
  local key = args[at + 1]
  local version = versionOf(key)
  if version == 0 then return {} end
  local record = call('HGET', prefix .. 'x:' .. bucket, id)
  local found = record and byNumber(cmsgpack.unpack(record))
  for _, index in ipairs(declared[bucket]) do
    if not found or not found[index[1]] then
      found = nil
      break
    end
  end
  if found then return found end
  local row = known[key]
  if row and args[row + 2] == version then return byNumber(args[row + 3]) end
  return args[at + 3] == 1 and byNumber(args[at + 2]) or nil
end

local function entryOf(own, id)
  return own and struct.pack('>I4', own[1]) .. own[2] .. id
end

local function noteTags(tags, bucket, index, own)
  for n = 3, own and #own or 0 do
    local fields, values = table.concat(index, ',', 2, n - 1), table.concat(own, ',', 3, n)
    local tag = bucket .. '?' .. fields .. '=[' .. values .. ']'
    if not tags[tag] then
      tags[tag] = true
      tags[#tags + 1] = tag
    end
  end
end

-- The answer that asks for the records of objects, or nil; the tags of the commit; the entries to remove and to add.
local function planIndexes()
  local unknown, tags, entries = {'b'}, {}, {}
  for _, at in ipairs(indexed) do
    local key = args[at + 1]
    local bucket = match(key, '^[^/]*/[^/]*')
    local id = sub(key, #bucket + 2)
    local was, is = before(at, bucket, id), byNumber(args[at + 2])
    if was then
      for _, index in ipairs(declared[bucket]) do
        local number = index[1]
        noteTags(tags, bucket, index, was[number])
        noteTags(tags, bucket, index, is[number])
        entries[#entries + 1] = {'e:' .. format('%.0f', number), entryOf(was[number], id), entryOf(is[number], id)}
      end
    else
      unknown[#unknown + 1] = key
      unknown[#unknown + 1] = call('GET', valuePrefix .. key)
    end
  end
  return #unknown > 1 and unknown or nil, tags, entries
end

local function declareIndexes()
  for _, at in ipairs(declarations) do
    local bucket, last = args[at + 1], args[at + 5]
    if mark == '' then
      mark = ' ${FORMAT_WITH_INDEXES}'
      call('HSET', prefix .. 'meta', 'format', '${FORMAT_WITH_INDEXES}')
    end
    call('HSET', prefix .. 'indexes', bucket, args[at + 3])
    call('HSET', prefix .. 'declared', bucket, positionText)
    stamps[bucket] = positionText
    for _, number in ipairs(args[at + 6]) do call('UNLINK', prefix .. 'e:' .. format('%.0f', number)) end
    if last > 0 then
      call('HSET', prefix .. 'meta', 'indexes', format('%.0f', last))
      call('SADD', prefix .. 'unbuilt', bucket)
    end
    if #declared[bucket] == 0 then
      call('UNLINK', prefix .. 'x:' .. bucket)
      call('SREM', prefix .. 'unbuilt', bucket)
    end
  end
end

local function writeIndexes(tags, entries)
  for _, entry in ipairs(entries) do
    if entry[2] and entry[2] ~= entry[3] then call('ZREM', prefix .. entry[1], entry[2]) end
    if entry[3] then call('ZADD', prefix .. entry[1], 0, entry[3]) end
  end
  for _, at in ipairs(indexed) do
    local bucket = match(args[at + 1], '^[^/]*/[^/]*')
    local id, record = sub(args[at + 1], #bucket + 2), args[at + 2]
    if #record > 0 then
      call('HSET', prefix .. 'x:' .. bucket, id, cmsgpack.pack(record))
    else
      call('HDEL', prefix .. 'x:' .. bucket, id)
    end
  end
  for _, tag in ipairs(tags) do call('HSET', prefix .. 'tags', tag, positionText) end
end
`
