-- Health of BucketClaims, BucketAccesses, Buckets and ObjectBucketClaims, from the conditions Ready and Stalled.
local health = { status = "Progressing", message = "Waiting for COSI." }
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready, stalled = conditions.Ready, conditions.Stalled

if ready == nil then
  ready = conditions.Provisioned -- written by a version without Ready
end
if ready ~= nil then
  health.message = ready.message
end
if obj.metadata.deletionTimestamp ~= nil then
  local waiting = conditions.DeprovisionFailed
  health.message = "Waiting for deletion."
  if waiting ~= nil and waiting.status == "True" then
    health.message = waiting.message
  end
  health.deletionMessage = health.message -- which Argo CD 3.6 shows; older versions show their own message
elseif stalled ~= nil and stalled.status == "True" then
  health.status = "Degraded"
  health.message = stalled.message
elseif ready ~= nil then
  local current = ready.observedGeneration == nil or obj.metadata.generation == nil
    or ready.observedGeneration >= obj.metadata.generation
  if ready.status == "True" and current then
    health.status = "Healthy"
  end
elseif status.phase == "Bound" then
  health = { status = "Healthy", message = "" }
elseif status.phase == "Failed" then
  health = { status = "Degraded", message = "The phase is Failed." }
end
return health
