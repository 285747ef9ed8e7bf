using System.Buffers;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>Makes lines of records. Used by one thread, so it may keep buffers.</summary>
internal interface IAccessLogFormatter
{
    /// <summary>Writes the line of one request, its line end included.</summary>
    void Write(in AccessLogRecord record, IBufferWriter<byte> output);

    /// <summary>Writes the line that says how many lines are missing before it.</summary>
    void WriteDropped(DateTime time, long count, IBufferWriter<byte> output);
}
