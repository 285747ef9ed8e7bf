namespace Tunnel2.Telemetry.Records;

/// <summary>Method names and the numbers of <see cref="RequestMethod"/>. Stateless.</summary>
internal static class RequestMethods
{
    /// <summary>The length of the longest method name that has a number, in bytes.</summary>
    internal const int MaxNameLength = 7;

    /// <summary>The number of a method (case-sensitive, RFC 9110 section 9.1).</summary>
    internal static RequestMethod Parse(ReadOnlySpan<byte> method) => method.Length switch
    {
        3 => method.SequenceEqual("GET"u8) ? RequestMethod.Get : method.SequenceEqual("PUT"u8) ? RequestMethod.Put : RequestMethod.Other,
        4 =>
            method.SequenceEqual("POST"u8) ? RequestMethod.Post : method.SequenceEqual("HEAD"u8) ? RequestMethod.Head : RequestMethod.Other,
        5 =>
            method.SequenceEqual("PATCH"u8) ? RequestMethod.Patch
            : method.SequenceEqual("TRACE"u8) ? RequestMethod.Trace
            : RequestMethod.Other,
        6 => method.SequenceEqual("DELETE"u8) ? RequestMethod.Delete : RequestMethod.Other,
        7 =>
            method.SequenceEqual("OPTIONS"u8) ? RequestMethod.Options
            : method.SequenceEqual("CONNECT"u8) ? RequestMethod.Connect
            : RequestMethod.Other,
        _ => RequestMethod.Other,
    };

    /// <summary>The method's name; <c>OTHER</c> if the record does not have it.</summary>
    internal static string Name(RequestMethod method) => method switch
    {
        RequestMethod.Get => "GET",
        RequestMethod.Head => "HEAD",
        RequestMethod.Post => "POST",
        RequestMethod.Put => "PUT",
        RequestMethod.Delete => "DELETE",
        RequestMethod.Connect => "CONNECT",
        RequestMethod.Options => "OPTIONS",
        RequestMethod.Trace => "TRACE",
        RequestMethod.Patch => "PATCH",
        _ => "OTHER",
    };
}
