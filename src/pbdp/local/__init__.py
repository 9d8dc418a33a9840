"""The local model: people randomize at home, and a server estimates how often each value occurs.

domain = in_blocks(range(10, 101), 10)                       local.domain
plan = plan_local(domain, Within(category=0.01, users=45_222))   local.plan, local.goal
save_configuration(plan.mechanism, "survey.json")            local.configuration
reports = load_configuration("survey.json").randomize(ages)  at home; in JavaScript: local/client
counts = count_reports(plan.mechanism, reports)              local.counts
estimate(plan.mechanism, counts, "category")                 local.estimate; local.distribution
alarms(plan.mechanism, [("all", counts)])                    local.alarms
shuffled(plan.mechanism, users=45_222, delta=1e-6)           local.shuffled

Mechanisms, a file each: boosted, centers, unary, hashing, subset, split, wave, means.
"""
