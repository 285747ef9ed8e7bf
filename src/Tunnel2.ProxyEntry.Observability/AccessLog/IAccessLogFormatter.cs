using System.Buffers;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>Turns records into lines. One thread uses it, so it may keep buffers.</summary>
internal interface IAccessLogFormatter
{
    /// <summary>Writes the line of one request, with its line end.</summary>
    void Write(in AccessLogRecord record, IBufferWriter<byte> output);

    /// <summary>Writes a line with the number of missing lines before it.</summary>
    void WriteDropped(DateTime time, long count, IBufferWriter<byte> output);
}
