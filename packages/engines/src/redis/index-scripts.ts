/** The scripts that read a bucket, and that build its indexes. */

/**
 * ARGV: bucket, and in MessagePack [hasIndexes, tags, source, fields, isDescending, count, ranges]. The source is the key of an
 * index's entries without the store's prefix, and `fields` its number of fields; or the key of the bucket's ids, and -1. Each
 * range is two bounds as ZRANGE BYLEX has them. The script reads one range after the other, `count` members in all.
 *
 * Returns from one state: head, the bucket's version, its stamp and its indexes (only if `hasIndexes` is 1), the versions of
 * the tags, and for each range that was reached an array of members and values by turns.
 */
export const READ_SCRIPT: string = String.raw`#!lua flags=no-writes
local call, sub, byte = redis.call, string.sub, string.byte
local prefix, bucket = sub(KEYS[1], 1, -5), ARGV[1]
local hasIndexes, tags, source, fields, isDescending, count, ranges = unpack(cmsgpack.unpack(ARGV[2]))

-- An entry ends with the id: see index-keys.ts.
local function idOf(member)
  local at = 5
  for _ = 1, fields do
    local kind = byte(member, at)
    if kind == 0x40 then
      at = string.find(member, '\0', at, true) + 1
    else
      at = at + (kind == 0x30 and 9 or 1)
    end
  end
  return sub(member, at)
end

local function read(low, high)
  if isDescending == 1 then
    return call('ZRANGE', prefix .. source, high, low, 'BYLEX', 'REV', 'LIMIT', 0, count)
  end
  return call('ZRANGE', prefix .. source, low, high, 'BYLEX', 'LIMIT', 0, count)
end

local values = prefix .. 'v:' .. bucket .. '/'
local versions, chunks = {}, {}
for n, tag in ipairs(tags) do versions[n] = call('HGET', prefix .. 'tags', tag) or '0' end
for n, range in ipairs(ranges) do
  if count == 0 then break end
  local members, chunk = read(range[1], range[2]), {}
  for _, member in ipairs(members) do
    chunk[#chunk + 1] = member
    chunk[#chunk + 1] = call('GET', values .. (fields == -1 and member or idOf(member)))
  end
  chunks[n] = chunk
  count = count - #members
end
local version = call('HGET', prefix .. 'buckets', bucket) or '0'
local stamp, indexes = false, false
if hasIndexes == 1 then
  stamp = call('HGET', prefix .. 'declared', bucket) or '0'
  indexes = call('HGET', prefix .. 'indexes', bucket) or '[]'
end
return {call('GET', KEYS[1]), version, stamp, indexes, versions, chunks}
`

/**
 * ARGV: bucket; its indexes as they were read, and as they are after this step; 1 if all are ready then; and in MessagePack an
 * array of objects, each id, version, record (commit-script.ts). Returns 0, and does nothing, if the indexes have changed
 * since.
 *
 * It skips an object that was written since it was read: the server that wrote it knew these indexes, and has put it into them.
 */
export const BUILD_INDEX_SCRIPT: string = `#!lua
local call, sub, format = redis.call, string.sub, string.format
local prefix, bucket = sub(KEYS[1], 1, -5), ARGV[1]
if call('HGET', prefix .. 'indexes', bucket) ~= ARGV[2] then return 0 end
for _, object in ipairs(cmsgpack.unpack(ARGV[5])) do
  local id, version, record = object[1], object[2], object[3]
  local start = call('GETRANGE', prefix .. 'v:' .. bucket .. '/' .. id, 0, 7)
  if #start == 8 and struct.unpack('<I7', start, 2) == version then
    for _, own in ipairs(record) do
      call('ZADD', prefix .. 'e:' .. format('%.0f', own[1]), 0, struct.pack('>I4', own[1]) .. own[2] .. id)
    end
    call('HSET', prefix .. 'x:' .. bucket, id, cmsgpack.pack(record))
  end
end
call('HSET', prefix .. 'indexes', bucket, ARGV[3])
if ARGV[4] == '1' then call('SREM', prefix .. 'unbuilt', bucket) end
return 1
`
