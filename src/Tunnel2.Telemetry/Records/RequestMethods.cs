using System.Text;

namespace Tunnel2.Telemetry.Records;

/// <summary>Method names and the numbers of <see cref="RequestMethod"/>. Stateless.</summary>
internal static class RequestMethods
{
    /// <summary>The longest name of a method that has a number, in bytes.</summary>
    internal const int MaxNameLength = 7;

    /// <summary>The number of a method (case-sensitive, RFC 9110 section 9.1).</summary>
    internal static RequestMethod Parse(ReadOnlySpan<byte> method)
    {
        for (var number = RequestMethod.Get; number <= RequestMethod.Patch; number++)
        {
            if (Ascii.Equals(method, Name(number)))
            {
                return number;
            }
        }

        return RequestMethod.Other;
    }

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
