using System.Security.Cryptography;
using System.Text.Json;
using Microsoft.AspNetCore.WebUtilities;
using Microsoft.Net.Http.Headers;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/upload</c>: lists the parts of a multipart/form-data body, reading them as they come.</summary>
internal static class UploadEndpoint
{
    private const int BufferLength = 64 * 1024;

    public static async Task HandleAsync(HttpContext context)
    {
        if (!MediaTypeHeaderValue.TryParse(context.Request.ContentType, out var type)
            || type.MediaType != "multipart/form-data"
            || HeaderUtilities.RemoveQuotes(type.Boundary).ToString() is not { Length: > 0 } boundary)
        {
            await BackendHandler.AnswerTextAsync(
                context, StatusCodes.Status415UnsupportedMediaType, "Send multipart/form-data with a boundary.\n");
            return;
        }

        List<UploadedPart> parts = [];
        try
        {
            var reader = new MultipartReader(boundary, context.Request.Body, BufferLength) { BodyLengthLimit = null };
            while (await reader.ReadNextSectionAsync(context.RequestAborted) is { } section)
            {
                parts.Add(await ReadPartAsync(section, context.RequestAborted));
            }
        }
        catch (Exception e) when (e is InvalidDataException or IOException && !context.RequestAborted.IsCancellationRequested)
        {
            await BackendHandler.AnswerTextAsync(context, StatusCodes.Status400BadRequest, e.Message);
            return;
        }

        await BackendHandler.AnswerAsync(
            context, StatusCodes.Status200OK, "application/json",
            JsonSerializer.SerializeToUtf8Bytes(parts, BackendJson.Default.ListUploadedPart));
    }

    private static async Task<UploadedPart> ReadPartAsync(MultipartSection section, CancellationToken cancellationToken)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        var buffer = new byte[BufferLength];
        long size = 0;
        while (await section.Body.ReadAsync(buffer, cancellationToken) is > 0 and var count)
        {
            hash.AppendData(buffer.AsSpan(0, count));
            size += count;
        }

        var disposition = ContentDispositionHeaderValue.TryParse(section.ContentDisposition, out var parsed) ? parsed : null;
        return new UploadedPart(
            HeaderUtilities.RemoveQuotes(disposition?.Name ?? default).Value,
            HeaderUtilities.RemoveQuotes(disposition?.FileName ?? default).Value,
            section.ContentType, size, Convert.ToHexStringLower(hash.GetHashAndReset()));
    }
}
