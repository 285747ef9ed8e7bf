using System.ComponentModel;
using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.Json.Schema;
using Microsoft.AspNetCore.WebUtilities;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// Makes the OpenAPI document (version 3.1) of the table of operations, and the schemas of the types that are written and read: so it can
/// say nothing that is not so. Stateless.
/// </summary>
internal static class OpenApiDocument
{
    private const string MediaType = "application/json";
    private const string Schemas = "#/components/schemas/";

    private static readonly JsonSchemaExporterOptions _schema = new()
    {
        TreatNullObliviousAsNonNullable = true,
        TransformSchemaNode = Describe,
    };

    /// <summary>The document in UTF-8.</summary>
    public static ReadOnlyMemory<byte> Write(IReadOnlyList<ApiOperation> operations, string version)
    {
        var document = new JsonObject
        {
            ["openapi"] = "3.1.1",
            ["info"] = new JsonObject
            {
                ["title"] = "Tunnel2 ProxyEntry",
                ["version"] = version,
                ["description"] = "Administration of a tunnel server. The bearer token is needed where Tunnel2:Admin:Token is set.",
            },
            ["security"] = new JsonArray(new JsonObject { ["bearer"] = new JsonArray() }, new JsonObject()),
            ["paths"] = Paths(operations),
            ["components"] = new JsonObject
            {
                ["securitySchemes"] = new JsonObject { ["bearer"] = new JsonObject { ["type"] = "http", ["scheme"] = "bearer" } },
                ["schemas"] = SchemasOf(operations),
            },
        };
        return Encoding.UTF8.GetBytes(document.ToJsonString());
    }

    private static JsonObject Paths(IReadOnlyList<ApiOperation> operations)
    {
        var paths = new JsonObject();
        foreach (var path in operations.GroupBy(static operation => operation.Path, StringComparer.Ordinal))
        {
            var item = new JsonObject();
            foreach (var operation in path)
            {
                item[operation.Method.ToLowerInvariant()] = Of(operation);
            }

            paths[path.Key] = item;
        }

        return paths;
    }

    private static JsonObject Of(ApiOperation operation)
    {
        var one = new JsonObject
        {
            ["operationId"] = operation.Id,
            ["summary"] = operation.Summary,
            ["tags"] = new JsonArray(operation.Group),
        };
        var parameters = new JsonArray();
        foreach (var name in operation.PathParameters)
        {
            parameters.Add((JsonNode)Parameter(name, "path", "string", null));
        }

        foreach (var parameter in operation.Query)
        {
            parameters.Add((JsonNode)Parameter(parameter.Name, "query", parameter.Type, parameter.Words));
        }

        if (parameters.Count > 0)
        {
            one["parameters"] = parameters;
        }

        if (operation.Body is { } body)
        {
            one["requestBody"] = new JsonObject { ["required"] = true, ["content"] = Content(MediaType, body.Name) };
        }
        else if (operation.OwnBody > 0)
        {
            one["requestBody"] = new JsonObject
            {
                ["required"] = !operation.MayLackBody,
                ["description"] = operation.OwnBodyWords,
                ["content"] = new JsonObject { [MediaType] = new JsonObject { ["schema"] = new JsonObject() } },
            };
        }

        if (operation.RunAsync is null)
        {
            one["responses"] = OfInspector(operation);
            return one;
        }

        var responses = new JsonObject { [Text(operation.Status)] = Response(operation.Status, MediaType, [.. AnswersOf(operation)]) };
        foreach (var status in operation.Problems)
        {
            responses[Text(status)] = Response(status, AdminProblem.MediaType, nameof(Problem));
        }

        responses["default"] = OtherProblem();
        one["responses"] = responses;
        return one;
    }

    private static IEnumerable<string> AnswersOf(ApiOperation operation) =>
        new[] { operation.Answer, operation.InspectorsAnswer }.OfType<Type>().Select(static type => type.Name);

    private static JsonObject OtherProblem() => new()
    {
        ["description"] = "Another problem, such as a missing token.",
        ["content"] = Content(AdminProblem.MediaType, nameof(Problem)),
    };

    /// <summary>Its answers have no types here: docs/inspector.md describes them.</summary>
    private static JsonObject OfInspector(ApiOperation operation)
    {
        var answer = new JsonObject { ["description"] = operation.AnswerWords };
        if (operation.Status != StatusCodes.Status204NoContent)
        {
            answer["content"] = new JsonObject { [operation.AnswerType] = new JsonObject { ["schema"] = new JsonObject() } };
        }

        return new JsonObject
        {
            [Text(operation.Status)] = answer,
            ["default"] = OtherProblem(),
        };
    }

    private static JsonObject Parameter(string name, string place, string type, string? words)
    {
        var one = new JsonObject
        {
            ["name"] = name,
            ["in"] = place,
            ["required"] = place == "path",
            ["schema"] = new JsonObject { ["type"] = type },
        };
        if (words is not null)
        {
            one["description"] = words;
        }

        return one;
    }

    private static JsonObject Response(int status, string mediaType, params string[] schemas)
    {
        var one = new JsonObject { ["description"] = ReasonPhrases.GetReasonPhrase(status) };
        if (schemas.Length > 0)
        {
            one["content"] = Content(mediaType, schemas);
        }

        return one;
    }

    private static JsonObject Content(string mediaType, params string[] schemas) => new()
    {
        [mediaType] = new JsonObject
        {
            ["schema"] = schemas is [var only]
                ? Reference(only)
                : new JsonObject { ["oneOf"] = new JsonArray([.. schemas.Select(Reference)]) },
        },
    };

    private static JsonObject Reference(string schema) => new() { ["$ref"] = Schemas + schema };

    private static JsonObject SchemasOf(IReadOnlyList<ApiOperation> operations)
    {
        var schemas = new JsonObject();
        foreach (var type in operations.SelectMany(static operation => new[] { operation.Answer, operation.InspectorsAnswer })
            .OfType<Type>().Append(typeof(Problem)).Distinct())
        {
            schemas[type.Name] = ApiJson.Answers.GetJsonSchemaAsNode(type, _schema);
        }

        foreach (var type in operations.Select(static operation => operation.Body).OfType<Type>().Distinct())
        {
            schemas[type.Name] = ApiJson.Requests.GetJsonSchemaAsNode(type, _schema);
        }

        return schemas;
    }

    private static JsonNode Describe(JsonSchemaExporterContext context, JsonNode schema)
    {
        if (context.TypeInfo.Type == typeof(JsonElement) || context.TypeInfo.Type == typeof(JsonElement?))
        {
            // The only part of an answer that is not made here: the rows of a policy.
            schema = new JsonObject { ["type"] = "array", ["items"] = new JsonObject { ["type"] = "object" } };
        }

        if (context.TypeInfo.Type == typeof(DateTimeOffset?) && (schema as JsonObject)?.ContainsKey("type") is not true)
        {
            // What a converter of ours reads is not known where schemas are made.
            schema = new JsonObject { ["type"] = new JsonArray("string", "null"), ["format"] = "date-time" };
        }

        if (schema is JsonObject one
            && context.PropertyInfo?.AttributeProvider?.GetCustomAttributes(typeof(DescriptionAttribute), inherit: false)
                is [DescriptionAttribute words, ..])
        {
            one["description"] = words.Description;
        }

        return schema;
    }

    private static string Text(int status) => status.ToString(CultureInfo.InvariantCulture);
}
