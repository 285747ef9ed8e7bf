using Tunnel2.Telemetry.Recording;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>What the aggregation of a recording came to. Immutable, except for its parts.</summary>
/// <param name="Status">
/// How the reading ended. <see cref="RecordingStatus.Reading"/>: it was stopped, and everything is of the frames before
/// <paramref name="Position"/>.
/// </param>
/// <param name="Position">The byte of the file at which the reading ended.</param>
/// <param name="Sessions">The names of the sessions, numbered in the order of their first record.</param>
/// <param name="Totals">The windows.</param>
/// <param name="Records">Records that are in the windows.</param>
/// <param name="Late">Records that came too late for their window.</param>
/// <param name="Unreadable">Records that could not be read.</param>
/// <param name="Missed">Records that were missed when the recording was made.</param>
internal sealed record RecordingStatistics<TTotals>(
    RecordingStatus Status, long Position, SessionKeyTable Sessions, TTotals Totals, long Records, long Late, long Unreadable, long Missed);
