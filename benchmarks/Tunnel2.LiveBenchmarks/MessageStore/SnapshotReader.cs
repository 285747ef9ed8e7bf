using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>Reads a full snapshot the way a late subscriber does: every entry is looked at.</summary>
internal static class SnapshotReader
{
    public static int Count(IMessageStore<int> store)
    {
        int count = 0;
        foreach (KeyValuePair<string, int> pair in store.GetState())
        {
            if (pair.Value >= 0)
            {
                count++;
            }
        }

        return count;
    }
}
