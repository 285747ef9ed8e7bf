namespace Tunnel2.Telemetry.Records;

/// <summary>Method names and the numbers of <see cref="RequestMethod"/>. Stateless.</summary>
internal static class RequestMethods
{
    /// <summary>The number of a method (case-sensitive, RFC 9110 section 9.1).</summary>
    internal static RequestMethod Parse(string method) => method switch
    {
        "GET" => RequestMethod.Get,
        "HEAD" => RequestMethod.Head,
        "POST" => RequestMethod.Post,
        "PUT" => RequestMethod.Put,
        "DELETE" => RequestMethod.Delete,
        "CONNECT" => RequestMethod.Connect,
        "OPTIONS" => RequestMethod.Options,
        "TRACE" => RequestMethod.Trace,
        "PATCH" => RequestMethod.Patch,
        _ => RequestMethod.Other,
    };

    /// <summary>The method's name; <c>OTHER</c> where the record does not say which it was.</summary>
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
