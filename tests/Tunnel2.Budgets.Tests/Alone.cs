// Processor time and memory of a process are measured: one test after another, in a process that runs alone.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
